//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openCounter opens and locks the file; [ErrInUse] when another process has it.
func openCounter(path string) (*counter, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrInUse
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &counter{file: f}, nil
}

func (c *counter) mapFile() error {
	data, err := syscall.Mmap(int(c.file.Fd()), 0, counterSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	c.data = data
	return nil
}

// close gives the lock back. Nothing may be counted after it. Closing the file
// alone would not do: a process that is being started at the moment shares it.
func (c *counter) close() error {
	err := syscall.Flock(int(c.file.Fd()), syscall.LOCK_UN)
	if c.data != nil {
		err = errors.Join(err, syscall.Munmap(c.data))
		c.data = nil
	}
	return errors.Join(err, c.file.Close())
}
