"""Records of 784 float32: MNIST's images. The first number of each says which one it is."""

WIDTH = 784
# So many different records, whose numbers are objects of their own: a list of one object 784 times would be converted
# faster than any real one.
KINDS = 16


def array(count):
    """As one numpy array."""
    import numpy  # pylint: disable=import-outside-toplevel
    made = numpy.random.default_rng(1).random((count, WIDTH), "f4")
    made[:, 0] = numpy.arange(count) % KINDS
    return made


def total(count):
    """The sum of the first numbers."""
    return float(sum(number % KINDS for number in range(count)))


def rows(count, lists):
    """The records one by one: lists of Python's floats, or numpy arrays."""
    kinds = list(array(KINDS))
    if lists:
        kinds = [kind.tolist() for kind in kinds]
    for number in range(count):
        yield kinds[number % KINDS].copy()


def maker(per_partition, lists):
    """The same in Spark's tasks, which have no module of this folder."""
    width, kinds_count = WIDTH, KINDS

    def make(_index, _nothing):
        import numpy  # pylint: disable=import-outside-toplevel
        made = numpy.random.default_rng(1).random((kinds_count, width), "f4")
        made[:, 0] = numpy.arange(kinds_count)
        kinds = [kind.tolist() for kind in made] if lists else list(made)
        for number in range(per_partition):
            yield kinds[number % kinds_count].copy()
    return make


def write_parquet(folder, files, per_file, binary):
    """A table with the column `image`, array<float> or binary, as Parquet files with a row group each."""
    import pyarrow  # pylint: disable=import-outside-toplevel,import-error
    import pyarrow.parquet  # pylint: disable=import-outside-toplevel,import-error
    images = array(per_file)
    if binary:
        column = pyarrow.array([row.tobytes() for row in images], pyarrow.binary())
    else:
        offsets = pyarrow.array(range(0, (per_file + 1) * WIDTH, WIDTH), pyarrow.int32())
        column = pyarrow.ListArray.from_arrays(offsets, pyarrow.array(images.reshape(-1)))
    table = pyarrow.table({"image": column})
    for number in range(files):
        pyarrow.parquet.write_table(table, f"{folder}/{number}.parquet", row_group_size=per_file, compression="none",
                                    use_dictionary=False)
