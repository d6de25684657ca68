#!/usr/bin/env python3
"""Archives that want to reach out of the task's folder: the job says so and fails."""

import gzip
import io
import stat
import tarfile
import zipfile

import integration_case
from integration_case import JobTest

MIB = 1 << 20


def tar_entry(name, kind=tarfile.REGTYPE, **fields):
    """An entry without contents."""
    entry = tarfile.TarInfo(name)
    entry.type = kind
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry


def write_tar(path, *entries):
    """A tar of an innocent file and then `entries`."""
    with tarfile.open(path, "w") as archive:
        archive.addfile(tar_entry("innocent.txt"))
        for entry in entries:
            archive.addfile(entry, io.BytesIO(bytes(entry.size)))


def write_zip(path, *entries):
    """A zip of an innocent file and then `entries`: pairs of name and target of a link, or None."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("innocent.txt", "")
        for name, target in entries:
            entry = zipfile.ZipInfo(name)
            entry.create_system = 3  # Unix: the mode counts
            entry.external_attr = (stat.S_IFLNK | 0o777 if target else stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, target or "escaped")


def write_bomb(path):
    """A tar.gz of 2 MiB that holds a file of 2 GiB, a thousand times as much."""
    zeros = gzip.compress(bytes(64 * MIB), mtime=0)
    header = tar_entry("zeros", size=2048 * MIB).tobuf()
    # Members of gzip follow each other as if they were one.
    path.write_bytes(gzip.compress(header, mtime=0) + zeros * 32)


class ArchiveTest(JobTest):
    """Each archive is tried as the program and as a resource that is unpacked."""

    def setUp(self):
        super().setUp()
        self.outside = self.site.folder / "outside"
        self.outside.mkdir()
        (self.outside / "file").write_text("as it was")
        # From a container's folder: local/jobs/JOB/containers/CONTAINER.
        self.way_out = "../../../../../outside/"
        self.archive = self.site.folder / "archive"

    def assert_refused_by_the_task(self, *texts):
        """The job fails because of the archive, whose verdict says all of `texts`."""
        uses = (
            ("--src_dir", str(self.archive)),
            ("--conf", f"tony.containers.resources={self.archive}::data#archive"),
        )
        for use in uses:
            with self.subTest(use=use):
                job = self.submit("true", *use)
                sentence = self.assert_ends(job, 1, "TASK_NOT_STARTED")
                self.assertIn("worker:0 could not be started", sentence)
                for text in texts:
                    self.assertIn(text, sentence)
                self.assert_outside_is_untouched()

    def assert_outside_is_untouched(self):
        self.assertEqual([path.name for path in self.outside.iterdir()], ["file"])
        self.assertEqual((self.outside / "file").read_text(), "as it was")

    def test_names_with_dots(self):
        name = f"{self.way_out}escaped"
        write_tar(self.archive, tar_entry(name))
        self.assert_refused_by_the_task(name)
        write_zip(self.archive, (name, None))
        self.assert_refused_by_the_task(name)

    def test_absolute_names(self):
        name = str(self.outside / "file")
        write_tar(self.archive, tar_entry(name))
        self.assert_refused_by_the_task(name)
        write_zip(self.archive, (name, None))
        self.assert_refused_by_the_task(name)

    def test_links_out(self):
        write_tar(self.archive, tar_entry("way", tarfile.SYMTYPE, linkname=self.way_out))
        self.assert_refused_by_the_task("way", self.way_out)
        write_tar(self.archive, tar_entry("way", tarfile.SYMTYPE, linkname=str(self.outside)))
        self.assert_refused_by_the_task("way", str(self.outside))
        hard = f"{self.way_out}file"
        write_tar(self.archive, tar_entry("way", tarfile.LNKTYPE, linkname=hard))
        self.assert_refused_by_the_task("way", hard)
        write_zip(self.archive, ("way", self.way_out))
        self.assert_refused_by_the_task("way", self.way_out)

    def test_files_through_links(self):
        link = tar_entry("way", tarfile.SYMTYPE, linkname=self.way_out)
        write_tar(self.archive, link, tar_entry("way/escaped"))
        self.assert_refused_by_the_task("way")
        write_zip(self.archive, ("way", self.way_out), ("way/escaped", None))
        self.assert_refused_by_the_task("way")

    def test_devices_and_pipes(self):
        write_tar(self.archive, tar_entry("null", tarfile.CHRTYPE, devmajor=1, devminor=3))
        self.assert_refused_by_the_task("null")
        write_tar(self.archive, tar_entry("pipe", tarfile.FIFOTYPE))
        self.assert_refused_by_the_task("pipe")

    def test_bomb(self):
        write_bomb(self.archive)
        self.assert_refused_by_the_task("times")

    def test_what_is_no_archive(self):
        self.archive.write_text("#!/bin/bash\n")
        self.assert_refused_by_the_task("archive")

    def test_virtual_environments_are_looked_at_before_the_job_starts(self):
        name = f"{self.way_out}escaped"
        for entry in ((name, None), (str(self.outside / "file"), None), ("way", self.way_out)):
            with self.subTest(entry=entry):
                write_zip(self.archive, entry)
                said = self.assert_refused(
                    2,
                    "--executes=true",
                    "--conf",
                    "tony.worker.instances=1",
                    "--python_venv",
                    self.archive,
                )
                self.assertIn(str(self.archive), said)
                self.assertIn(entry[0], said)
                self.assert_outside_is_untouched()


if __name__ == "__main__":
    integration_case.main()
