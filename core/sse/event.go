package sse

// Event is one server-sent event. Its slices point into the scanner's memory
// and are valid until the next call of Feed or Next.
type Event struct {
	// Name is the event field, empty when absent.
	Name []byte
	// Data is the data field, its lines joined with LF.
	Data []byte
	// ID is the id field, empty when absent.
	ID []byte
	// Raw are the event's bytes up to and including its blank line.
	Raw []byte
	// Canonical reports that Raw is exactly what AppendEvent would write, so
	// that it can be passed on without a copy.
	Canonical bool
}
