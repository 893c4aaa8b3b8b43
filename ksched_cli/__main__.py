"""The program. An interrupt ends it at once until `run` can handle it: importing the rest takes a while."""

import gc
import os
import signal
from typing import NoReturn

# A command lives for seconds, and most of what it makes stays: the collector finds next to nothing in it.
gc.set_threshold(400_000, 50, 1000)
# OpenBLAS, which numpy brings, starts a thread for each core when it is loaded. ksched multiplies only short vectors.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_interrupt_handler = signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> NoReturn:
    """`ksched` and `kubectl-ksched`."""
    from ksched_cli.cli.main import main as run

    signal.signal(signal.SIGINT, _interrupt_handler)
    run()


def complete_for_kubectl() -> NoReturn:
    """`kubectl_complete-ksched`, which kubectl runs for `kubectl ksched <TAB>`."""
    from ksched_cli.cli.main import complete_for_kubectl as run

    run()


if __name__ == "__main__":
    main()
