// Package exchange runs one request in a vendor's wire format through the engine
// and hands its answer to the caller's side, whoever that is.
package exchange
