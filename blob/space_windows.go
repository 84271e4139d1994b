package blob

import "golang.org/x/sys/windows"

// FreeSpace returns the number of bytes that can be written below path.
func FreeSpace(path string) (int64, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var free, total uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, &total, nil)
	return available(total, free), err
}
