"""The options that the training programs of the examples have in common."""

import argparse
import importlib


def make_parser(description):
    """Returns a parser with the options of all programs; a program may add its own."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--data", metavar="URL", help="file of write_digits.py, else scikit-learn's own")
    add("--batch-size", type=int, default=64, help="examples of a global step")
    add("--seed", type=int, default=1)
    add("--slow-step-seconds", type=float, default=0.0, help="sleep in each step, to watch or kill")
    return parser


def make_step_parser(description):
    """Returns a parser with the options of programs that train for a number of global steps."""
    parser = make_parser(description)
    add = parser.add_argument
    add("--steps", type=int, default=300, help="global steps in all")
    add("--checkpoint-every", type=int, default=20, metavar="STEPS")
    add("--cut-exchange", action="store_true", help="train alone: only to see the check fail")
    return parser


def add_library(parser):
    """Adds the option that chooses the library by which ranks work together."""
    parser.add_argument("--library", default="horovod.torch", metavar="MODULE",
                        help="or tony.collective.torch, which has the same functions")


def add_elastic(parser):
    """Adds the option of programs whose workers come and go. Up to four workers can share a
    batch."""
    parser.add_argument("--commit-every", type=int, default=5, metavar="STEPS")
    parser.set_defaults(batch_size=84)  # divides by 1, 2, 3, 4, 6 and 7 workers


def import_library():
    """Returns the module of that option. It parses only this option, because the import has to come
    first."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_library(parser)
    return importlib.import_module(parser.parse_known_args()[0].library)


def parse_synchronous(description, workers, choose_library=False):
    """Returns the arguments of a program whose workers each take an equal part of every batch."""
    parser = make_step_parser(description)
    if choose_library:
        add_library(parser)
    arguments = parser.parse_args()
    if arguments.batch_size % workers:
        parser.error(f"--batch-size {arguments.batch_size} does not divide by {workers} workers")
    return arguments
