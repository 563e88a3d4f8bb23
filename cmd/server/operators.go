package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"strings"
	"sync"

	"github.com/spillway-llm/spillway/console"
	"github.com/spillway-llm/spillway/store"
)

// firstOperator is who signs in with the one-time password.
const firstOperator = "admin"

// operators are who may sign in. Until somebody has chosen a password there is
// nobody in the store, and a one-time password of this process lets the first
// operator choose one: it is printed at every start until then, so that nobody
// who missed it is locked out, and it is void with the process.
type operators struct {
	db *store.DB

	mu      sync.Mutex
	oneTime string // "" once a password was chosen
}

var _ console.Operators = (*operators)(nil)

// newOperators draws a one-time password if nobody may sign in yet.
func newOperators(ctx context.Context, db *store.DB) (*operators, error) {
	list, err := db.Operators(ctx)
	if err != nil {
		return nil, err
	}
	o := &operators{db: db}
	if len(list) == 0 {
		o.oneTime = strings.ToLower(rand.Text())
	}
	return o, nil
}

// password returns the one-time password, "" when there is none.
func (o *operators) password() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.oneTime
}

// SignIn checks a password.
func (o *operators) SignIn(ctx context.Context, name, password string) (console.Operator, error) {
	if first := o.password(); first != "" && name == firstOperator &&
		subtle.ConstantTimeCompare([]byte(first), []byte(password)) == 1 {
		return console.Operator{Name: name, MustSetPassword: true}, nil
	}
	op, err := o.db.SignIn(ctx, name, password)
	return console.Operator{Name: op.Name, MustSetPassword: op.MustChange}, told(err)
}

// SetPassword replaces the password; with the first one the one-time password
// is void.
func (o *operators) SetPassword(ctx context.Context, name, password string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.db.SetPassword(ctx, name, password)
	if errors.Is(err, store.ErrNotFound) && o.oneTime != "" && name == firstOperator {
		err = o.db.AddOperator(ctx, name, password, false)
	}
	if err == nil {
		o.oneTime = ""
	}
	return told(err)
}
