"""A Dagster asset that a tony job makes: dagster asset materialize --select model -f assets.py"""

import pathlib
import sys

import dagster

TRAIN = pathlib.Path(__file__).with_name("train.py")


@dagster.asset
def model(context: dagster.AssetExecutionContext, pipes: dagster.PipesSubprocessClient):
    """Dagster Pipes: the program train.py is told of this run, and reports the asset. SIGINT ends it."""
    return pipes.run(command=[sys.executable, str(TRAIN)], context=context).get_materialize_result()


defs = dagster.Definitions(assets=[model], resources={"pipes": dagster.PipesSubprocessClient()})
