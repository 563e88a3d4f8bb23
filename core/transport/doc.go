// Package transport runs the engine under any vendor's SDK, as an
// [http.RoundTripper].
package transport
