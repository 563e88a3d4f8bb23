// Package core runs one request through policy, circuits, retries and fallback.
//
// A request becomes [Facts]; live state becomes an immutable [Snapshot]; the
// acting policy revision turns both into a [Plan]; the [Engine] runs the plan:
//
//	plan( step( circuit( cooldown( retry( budget( attempt ))))))
//
// What happened goes to one [Recorder] as typed events. Package core knows no
// vendor, no wire format, no database and no policy language: those plug in
// through [Decider], [Recorder], [Attempter] and [Clock]. It compiles with the
// standard library alone.
package core
