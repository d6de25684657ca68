"""One rank that runs all functions of a module whose names begin with "check_", in their order.

    run_checks.py MODULE

Prints a line of JSON for each. Fails when one of them does; the others of this rank still run.
"""

import importlib
import json
import sys
import traceback

import tony.collective as hvd


def main():
    module = importlib.import_module(sys.argv[1])
    hvd.init()
    failed = False
    # A list: a check that is warned for the first time gives its module another variable.
    for name, check in list(vars(module).items()):
        if not name.startswith("check_"):
            continue
        error = ""
        try:
            check()
        except Exception:  # pylint: disable=broad-except
            error, failed = traceback.format_exc(), True
        print(json.dumps({"check": name, "error": error}), flush=True)
        # So that one rank's failure is not taken for one of the next check.
        hvd.barrier()
    hvd.shutdown()
    sys.exit(1 if failed else 0)


main()
