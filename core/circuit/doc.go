// Package circuit counts outcomes, opens on evidence, and hands out permits.
package circuit
