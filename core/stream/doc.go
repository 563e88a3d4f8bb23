// Package stream carries one streamed answer from a vendor to its caller.
package stream
