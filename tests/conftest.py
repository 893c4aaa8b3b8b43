"""Settings of all property tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine draws slowly. That says nothing about the code.
settings.register_profile("ksched", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ksched")
