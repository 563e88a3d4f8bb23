package retry

import (
	"errors"
	"fmt"
)

// BudgetSettings shape a retry budget (R5.1). They are comparable.
type BudgetSettings struct {
	// Capacity is how many tokens a full budget holds; it starts full (500).
	Capacity float64 `json:"capacity"`
	// Refund is what a success gives back (0.25).
	Refund float64 `json:"refund"`
}

// DefaultBudget is the shipped default of R5.1.
func DefaultBudget() BudgetSettings { return BudgetSettings{Capacity: 500, Refund: 0.25} }

// ErrSettings marks settings that can't be used.
var ErrSettings = errors.New("unusable retry settings")

// Check reports a figure that is out of range.
func (s BudgetSettings) Check() error {
	if !(s.Capacity >= 0 && s.Capacity <= 1e6) {
		return fmt.Errorf("capacity is %v, not in 0..1000000: %w", s.Capacity, ErrSettings)
	}
	if !(s.Refund >= 0 && s.Refund <= 100) {
		return fmt.Errorf("refund is %v, not in 0..100: %w", s.Refund, ErrSettings)
	}
	return nil
}
