"""Which folders another machine may see as well, by the kernel's list of mounts."""

from __future__ import annotations

import os
import re
from pathlib import Path

MOUNTS = "/proc/self/mountinfo"

NETWORKED = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|davfs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|prl_fs|smb[23]|smbfs"
    r"|vboxsf|virtiofs|vmhgfs|fuse\.(?!fuse-overlayfs|lxcfs|mergerfs|ntfs-3g).*"
)
"""File systems behind which another machine may stand: its processes would not see our locks, nor we theirs."""
ESCAPED = re.compile(r"\\([0-7]{3})")
"""A blank, a tab, the end of a line or a backslash, as the list has them."""


def network(folder: str) -> str | None:
    """The kind of file system that a folder is on, if another machine may stand behind it."""
    try:
        mounts = os.fsdecode(Path(MOUNTS).read_bytes())
    except OSError:  # not Linux: we cannot tell
        return None
    kind = file_system(folder, mounts)
    return kind if NETWORKED.fullmatch(kind) else None


def file_system(folder: str, mounts: str) -> str:
    """The kind of file system that a folder is on (the last of the longest mounts wins)."""
    found, longest = "", -1
    for line in mounts.strip("\n").split("\n"):
        before, _, after = line.partition(" - ")
        point = ESCAPED.sub(lambda code: chr(int(code[1], 8)), before.split(" ")[4])
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= longest:
            found, longest = after.split(" ")[0], len(point)
    return found
