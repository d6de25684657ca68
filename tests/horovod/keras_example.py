"""keras_example.py EXAMPLE ARGUMENT…: one of Horovod's examples, for which Keras takes made-up data as the real one's.

Keras downloads MNIST unless there is a file of that name with the right hash. Here any file will do: mnist_like.py's.
"""

import pathlib
import runpy
import sys

from keras.src.utils import data_utils

data_utils.validate_file = lambda *arguments, **named: True
sys.argv = sys.argv[1:]
# As Python does for a script.
sys.path[0] = str(pathlib.Path(sys.argv[0]).resolve().parent)
runpy.run_path(sys.argv[0], run_name="__main__")
