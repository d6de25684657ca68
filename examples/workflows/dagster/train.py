"""The program behind the asset: runs the job and reports its summary by Dagster Pipes."""

import pathlib
import sys

from dagster_pipes import open_dagster_pipes

EXAMPLES = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(EXAMPLES))

from step import run_step  # noqa: E402  # pylint: disable=wrong-import-position

with open_dagster_pipes() as pipes:
    key = f"dagster|{pipes.run_id}|{pipes.asset_key}"
    summary = run_step(key, "--src_dir", str(EXAMPLES / "src"), str(EXAMPLES / "job.xml"))
    pipes.report_asset_materialization(
        metadata={name: summary[name] for name in ("application_id", "verdict", "checkpoint_dir") if summary.get(name)}
    )
