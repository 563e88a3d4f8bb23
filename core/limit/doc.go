// Package limit admits work up to limits of concurrency, rate and spend: reserve before, settle after, give back on every exit.
package limit
