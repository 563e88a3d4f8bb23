// Package simulate runs the very engine through an outage scenario in virtual time and compares policies side by side.
package simulate
