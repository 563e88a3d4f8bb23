package circuit

// Permit lets one call through.
type Permit struct{}
