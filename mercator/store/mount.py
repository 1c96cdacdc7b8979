"""Which file systems a store may lie on. LMDB maps its file into memory and locks it, and a network
file system keeps neither promise: pages go stale and two machines write at once (lmdb.h, caveats)."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")
"""Linux only; where it is missing nothing is refused."""

NETWORK_TYPES = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "coda", "davfs"),
        *("ceph", "lustre", "gpfs", "beegfs", "glusterfs", "orangefs", "pvfs2", "panfs", "wekafs"),
        *("vboxsf", "prl_fs", "fuse.vmhgfs-fuse"),
        *("fuse.sshfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.glusterfs", "fuse.s3fs"),
        *("fuse.rclone", "fuse.gcsfuse", "fuse.davfs", "fuse.curlftpfs", "fuse.juicefs"),
    }
)

_ESCAPE = re.compile(r"\\([0-7]{3})")


def network_file_system(path: Path, mountinfo: str) -> str | None:
    """The type of the network file system that `path` lies on, or None for a local one.

    `path` is absolute and without symbolic links; it need not exist. `mountinfo` is the text of
    /proc/self/mountinfo (proc(5)): the longest mount point that holds the path counts, of equal ones
    the last, which hides the others.
    """
    longest = -1
    found: str | None = None
    for line in mountinfo.splitlines():
        left, dash, right = line.partition(" - ")
        fields, source = left.split(" "), right.split(" ")
        if not dash or len(fields) < 5 or not source[0]:
            continue
        point = Path(_ESCAPE.sub(lambda octal: chr(int(octal[1], 8)), fields[4]))
        if path.is_relative_to(point) and len(point.parts) >= longest:
            longest = len(point.parts)
            found = _network_type(source[0], source[-1])
    return found


def _network_type(type_: str, options: str) -> str | None:
    # 9p is the root of some sandboxes, served by their own kernel, and safe there; as a share of
    # Windows (WSL) or over a socket it is not.
    if type_ == "9p" and ("aname=drvfs" in options or "trans=tcp" in options):
        return type_
    return type_ if type_ in NETWORK_TYPES else None
