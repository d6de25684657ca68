"""Which of Horovod's examples are run, and what they have to say in the end."""

import typing


class Example(typing.NamedTuple):
    """``command``: below Horovod's folder of examples. ``said``: by rank 0, a regular expression. ``begun``: of an
    elastic one, what rank 0 says when another rank is killed. ``newcomer``: whether a process comes for it."""

    command: list
    said: str
    begun: str = ""
    newcomer: bool = True


_LEARNED, _MEASURED = r"Accuracy: (?:9\d|100)\.\d+%\s*$", r"Total img/sec on \d+ CPU\(s\): [0-9.]+"
_MNIST = ["pytorch/pytorch_mnist.py", "--no-cuda", "--epochs=3", "--lr=0.05", "--log-interval=100", "--data-dir=data"]
_STEPS = ["--no-cuda", "--batch-size=2", "--num-batches-per-iter=1"]
_FEW_STEPS = [*_STEPS, "--num-warmup-batches=1", "--num-iters=2"]
# Enough for somebody to go and come.
_MANY_STEPS = [*_STEPS, "--num-warmup-batches=1", "--num-iters=12"]
_BENCHMARK = ["pytorch/pytorch_synthetic_benchmark.py", "--model=resnet18", *_FEW_STEPS]

_LAST_EPOCH = r"Epoch 24/24\n(?:.*\n)*?.*250/250 .*accuracy: (?:0\.9\d+|1\.0+)"
_TENSORFLOW_BENCHMARK = ["tensorflow2/tensorflow2_synthetic_benchmark.py", "--model=MobileNet", *_FEW_STEPS]
_KERAS_BENCHMARK = ["tensorflow2/tensorflow2_keras_synthetic_benchmark.py", "--model=MobileNet", *_STEPS,
                    "--num-iters=3"]
_TENSORFLOW_1_BENCHMARK = ["tensorflow/tensorflow_synthetic_benchmark.py", "--model=MobileNet", *_FEW_STEPS]

EXAMPLES = {
    "torch": [
        Example(_MNIST, _LEARNED),
        Example([*_MNIST, "--fp16-allreduce"], _LEARNED),
        Example([*_MNIST, "--gradient-predivide-factor=2"], _LEARNED),
        Example([*_MNIST, "--use-adasum"], _LEARNED),
        Example(_BENCHMARK, _MEASURED),
        Example([*_BENCHMARK, "--fp16-allreduce"], _MEASURED),
        Example([*_BENCHMARK, "--use-adasum"], _MEASURED),
        Example(["adasum/adasum_small_model.py", "--op=Average"], r"^1\.0 Average 0\.1 \d+ \d+\s*$"),
        Example(["adasum/adasum_small_model.py", "--op=Adasum"], r"^1\.0 Adasum 0\.1 \d+ \d+\s*$"),
        Example(["elastic/pytorch/pytorch_mnist_elastic.py", "--no-cuda", "--epochs=4", "--lr=0.05", "--data-dir=data"],
                _LEARNED, begun="Train Epoch: 2"),
        Example(["elastic/pytorch/pytorch_synthetic_benchmark_elastic.py", "--model=resnet18", *_MANY_STEPS],
                _MEASURED, begun="Iter #2"),
    ],
    "tensorflow": [
        Example(["tensorflow2/tensorflow2_mnist.py"], r"^Step #4990\tLoss: 0\.0\d+"),
        Example(["tensorflow2/tensorflow2_keras_mnist.py"], _LAST_EPOCH),
        Example(_TENSORFLOW_BENCHMARK, _MEASURED),
        Example([*_TENSORFLOW_BENCHMARK, "--fp16-allreduce"], _MEASURED),
        Example(_KERAS_BENCHMARK, _MEASURED),
        Example([*_KERAS_BENCHMARK, "--fp16-allreduce"], _MEASURED),
        Example(["elastic/tensorflow2/tensorflow2_mnist_elastic.py"], r"^Step #40\tLoss: [0-9.]+", begun="Step #20"),
        Example(["elastic/tensorflow2/tensorflow2_keras_mnist_elastic.py"], r"250/250 .*accuracy: (?:0\.9\d+|1\.0+)",
                begun="Epoch 2/"),
        # A new process and the others would wait for each other: docs/horovod-tests.md.
        Example(["elastic/tensorflow2/tensorflow2_synthetic_benchmark_elastic.py", "--model=MobileNet", *_MANY_STEPS],
                _MEASURED, begun="Iter #2", newcomer=False),
        Example(_TENSORFLOW_1_BENCHMARK, _MEASURED),
    ],
}
