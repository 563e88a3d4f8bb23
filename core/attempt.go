package core

import (
	"context"
	"time"

	"github.com/spillway-llm/spillway/core/circuit"
	"github.com/spillway-llm/spillway/core/price"
)

// Request is one request to run. Its fields are set by whoever received it;
// the engine reads them and fills Decision.
type Request struct {
	Facts Facts
	// KeyID and Tenant name the caller for the audit.
	KeyID, Tenant string
	Wire          Wire
	Path          string
	Tags          string
	// Affinity is the conversation's key (R2.4), 0 for none.
	Affinity uint64
	// Limits bound the requests of KeyID (see [Grants]); the zero value bounds
	// nothing. What the key has used of them is kept under its name.
	Limits CallerLimits
	// RetryOf is the caller's own retry count, so that retries do not multiply (R4.5).
	RetryOf int
	// Decision is filled by [Engine.Run]; the caller owns its memory.
	Decision Decision
}

// Attempter makes the attempts of one request.
type Attempter interface {
	// Prepare readies the request for a target before a permit is taken. An
	// error of KindNotPortable skips the step; any other ends the request.
	Prepare(t *Target) error
	// Attempt makes one call and returns at its last byte: nil for a whole
	// answer, an [*Error] otherwise. It must end soon after ctx does. It calls
	// [Attempt.FirstContent] before the caller sees content, and
	// [Attempt.Progress] whenever bytes arrive.
	Attempt(ctx context.Context, a *Attempt) error
}

// Attempt is one call to one node of one target. It belongs to the engine and
// is valid only inside [Attempter.Attempt]; its methods are not for concurrent use.
type Attempt struct {
	// Number counts the request's attempts from 1.
	Number   int
	Step     int
	Target   *Target
	Provider *Provider
	Node     *Node
	Key      *Key
	// Decision is the record so far: earlier attempts, skips and the plan.
	Decision *Decision
	// Disclosure is what policy says to tell the caller if this attempt answers.
	Disclosure Disclosure
	// Situation is why, SituationNone when the preferred target answers.
	Situation Situation

	// Usage, Model, Status and UpstreamID are the attempt's findings, set by the
	// Attempter for the record.
	Usage      price.Usage
	Model      string
	Status     int
	UpstreamID string

	flight *flight
	permit circuit.Permit
}

// FirstContent marks the commit point: after it nothing is retried and no other
// target is tried (R6.2). Further calls do nothing.
func (a *Attempt) FirstContent() { a.flight.firstContent(a) }

// Committed reports whether the caller has seen content.
func (a *Attempt) Committed() bool { return a.flight.committed }

// Progress renews the idle limit.
func (a *Attempt) Progress() { a.flight.progress() }

// Elapsed is the time since the request's arrival.
func (a *Attempt) Elapsed() time.Duration { return a.flight.elapsed() }
