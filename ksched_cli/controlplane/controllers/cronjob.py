"""The CronJob controller (pkg/controller/cronjob): schedules are not modelled, a new CronJob runs once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ksched_cli.api.workloads import CronJob
from ksched_cli.controlplane.controllers.job_pods import cron_run
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller


class CronJobController(Controller):
    """Keys are identities of CronJobs that the run has created: they run once, at once."""

    informers = (CronJob,)

    def concerned(self, old: Any, new: Any) -> Iterable[Identity]:
        return (identity_of(new),) if isinstance(new, CronJob) and old is None else ()

    def reconcile(self, key: Identity) -> None:
        item = self.store.get(CronJob, key[2], key[1])
        if item is None or item.spec.suspend:
            return
        run = cron_run(item)
        if self.store.current(run) is None:
            self.api.create(run)
