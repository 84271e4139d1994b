package tensorboard

import (
	"slices"

	"golang.org/x/sys/unix"
)

// networks lists the types of network file systems, which cache times and sizes. The types are
// NFS, SMB in three versions, AFS, Ceph, 9P, FUSE, Lustre and GPFS.
var networks = []int64{unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.AFS_SUPER_MAGIC,
	unix.CEPH_SUPER_MAGIC, unix.V9FS_MAGIC, unix.FUSE_SUPER_MAGIC, 0x0bd00bd0, 0x47504653}

// isNetwork reports whether a folder is on a network file system.
func isNetwork(path string) bool {
	var s unix.Statfs_t
	return unix.Statfs(path, &s) == nil && slices.Contains(networks, int64(s.Type))
}
