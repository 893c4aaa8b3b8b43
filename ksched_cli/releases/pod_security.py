"""What the policies of PodSecurity changed from minor to minor (pod-security-admission/policy).

Policies have the versions of minors, from v1.0 on. An API server knows those up to its own minor, and takes its newest
one for later versions, for `latest` and for versions that it cannot read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

# The policy since which a check is made, by the id of the check. All other checks are as old as the policies.
_CHECKS_SINCE: Mapping[str, int] = {
    "allowPrivilegeEscalation": 8,
    "seccompProfile_baseline": 19,
    "seccompProfile_restricted": 19,
    "capabilities_restricted": 22,
    "runAsUser": 23,
    "hostProbesAndHostLifecycle": 34,
    "procMount_restricted": 35,
}
# Sysctls that a pod may set, by the policy since which it may.
_SYSCTLS: Mapping[int, Sequence[str]] = {
    0: (
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
        *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
    ),
    27: ("net.ipv4.ip_local_reserved_ports",),
    29: tuple(
        f"net.ipv4.tcp_{each}" for each in ("keepalive_time", "fin_timeout", "keepalive_intvl", "keepalive_probes")
    ),
    32: ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    37: ("net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"),
}
_SELINUX_TYPES: Mapping[int, Sequence[str]] = {
    0: ("", "container_t", "container_init_t", "container_kvm_t"),
    31: ("container_engine_t",),
}


class PodSecurityPolicy(Struct, frozen=True):
    """What the policy of one minor checks and allows."""

    minor: int

    @classmethod
    def of(cls, wanted: int | None, newest: int) -> PodSecurityPolicy:
        """The policy of the wanted minor, None if it cannot be read, in an API server of the minor `newest`."""
        return cls(newest if wanted is None else min(wanted, newest))

    def has_check(self, name: str) -> bool:
        return self.minor >= _CHECKS_SINCE.get(name, 0)

    @property
    def sysctls(self) -> frozenset[str]:
        return self._allowed(_SYSCTLS)

    @property
    def selinux_types(self) -> frozenset[str]:
        return self._allowed(_SELINUX_TYPES)

    @property
    def exempts_windows(self) -> bool:
        """Whether pods of Windows need not follow the checks that Linux alone can enforce."""
        return self.minor >= 25

    @property
    def exempts_user_namespaces(self) -> bool:
        """Whether pods with a user namespace of their own may run as root in it."""
        return self.minor >= 35

    def _allowed(self, since: Mapping[int, Sequence[str]]) -> frozenset[str]:
        return frozenset(name for minor, names in since.items() if self.minor >= minor for name in names)
