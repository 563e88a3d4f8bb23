package differential_test

import (
	"math/rand/v2"
	"testing"

	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/spillway-llm/spillway/core/limit"
)

// A concurrency limit without a queue admits exactly when a bulkhead does.
func TestConcurrency_AgainstFailsafe(t *testing.T) {
	t.Parallel()
	refused := 0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(20260921, seed))
		most := 1 + rng.IntN(20)
		mine, theirs := limit.NewConcurrency(limit.ConcurrencySettings{Limit: most}), bulkhead.New[any](uint(most))
		var running []limit.Ticket
		for range 1000 {
			if len(running) > 0 && rng.IntN(100) < 48 {
				i := rng.IntN(len(running))
				running[i].Release(0)
				theirs.ReleasePermit()
				running = append(running[:i], running[i+1:]...)
				continue
			}
			ticket, _ := mine.Acquire(0, rng.IntN(11))
			if got := theirs.TryAcquirePermit(); ticket.Held() != got {
				t.Fatalf("history %d: with %d of %d running ours admits %v, theirs %v", seed, len(running), most, ticket.Held(), got)
			}
			if ticket.Held() {
				running = append(running, ticket)
			} else {
				refused++
			}
		}
	}
	if refused < 1000 {
		t.Errorf("only %d were refused: too few to say anything", refused)
	}
}
