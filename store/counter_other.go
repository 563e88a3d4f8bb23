//go:build !unix

package store

import (
	"errors"
	"os"
)

// openCounter opens the file. There is no lock here, and no count: gaps after
// a crash are recorded as inexact.
func openCounter(path string) (*counter, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &counter{file: f}, nil
}

func (c *counter) mapFile() error { return errors.ErrUnsupported }

func (c *counter) close() error { return c.file.Close() }
