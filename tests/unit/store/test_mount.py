"""Which file systems are refused, by made-up tables of mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from mercator.store.mount import network_file_system

ROOT = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"


def mount(point: str, kind: str, options: str = "rw") -> str:
    return f"40 22 0:50 / {point} rw,relatime shared:9 - {kind} server:/export {options}\n"


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "afs", "ceph", "lustre", "gpfs", "fuse.sshfs"]
)
def test_a_network_file_system_is_named(kind: str) -> None:
    table = ROOT + mount("/data", kind)
    assert network_file_system(Path("/data/crawl"), table) == kind
    assert network_file_system(Path("/data"), table) == kind


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuseblk"])
def test_a_local_file_system_is_fine(kind: str) -> None:
    assert network_file_system(Path("/data/crawl"), ROOT + mount("/data", kind)) is None


def test_a_neighbour_of_the_mount_is_not_on_it() -> None:
    assert network_file_system(Path("/database/crawl"), ROOT + mount("/data", "nfs")) is None


def test_the_longest_mount_point_counts() -> None:
    table = mount("/home/ann/scratch", "xfs") + ROOT + mount("/home", "nfs")
    assert network_file_system(Path("/home/ann/scratch/crawl"), table) is None
    assert network_file_system(Path("/home/ann/crawl"), table) == "nfs"


def test_the_last_mount_on_a_point_hides_the_others() -> None:
    assert network_file_system(Path("/a/b"), mount("/a", "nfs") + mount("/a", "xfs")) is None
    assert network_file_system(Path("/a/b"), mount("/a", "xfs") + mount("/a", "nfs")) == "nfs"


def test_spaces_in_a_mount_point_are_escaped() -> None:
    table = ROOT + mount(r"/my\040data", "cifs")
    assert network_file_system(Path("/my data/crawl"), table) == "cifs"


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ("rw,aname=drvfs;path=C:\\;uid=1000,trans=fd,rfd=8,wfd=8", "9p"),
        ("rw,trans=tcp,port=564", "9p"),
        ("rw,trans=fd,rfdno=4,wfdno=4", None),
    ],
)
def test_9p_is_a_share_or_the_root_of_a_sandbox(options: str, kind: str | None) -> None:
    assert network_file_system(Path("/mnt/c/x"), ROOT + mount("/mnt/c", "9p", options)) == kind


@pytest.mark.parametrize("line", ["", "no dash at all", "1 2 3 - nfs", "40 22 0:50 / /data rw - "])
def test_a_line_that_is_not_understood_is_passed_over(line: str) -> None:
    assert network_file_system(Path("/data/crawl"), f"{line}\n{ROOT}") is None
