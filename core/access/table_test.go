package access_test

import (
	"crypto/rand"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/access"
)

func entry(t testing.TB, id string) (string, access.Entry) {
	t.Helper()
	key, hash, err := access.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key, access.Entry{Hash: hash, Caller: access.Caller{
		KeyID: id, Grants: core.Grants{Tenant: "t-" + id, Audience: core.AudiencePaid},
	}}
}

func TestTable_Lookup(t *testing.T) {
	t.Parallel()
	key, e := entry(t, "one")
	table, err := access.NewTable(e)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := table.Lookup(key)
	if !ok || c.KeyID != "one" || c.Grants.Tenant != "t-one" {
		t.Errorf("lookup = %+v, %v", c, ok)
	}
	for _, wrong := range []string{"", key + "x", key[:len(key)-1], strings.ToUpper(key), strings.Repeat("x", 10_000)} {
		if _, ok := table.Lookup(wrong); ok {
			t.Errorf("%.40q is nobody's key and was found", wrong)
		}
	}
}

func TestTable_ZeroValueKnowsNobody(t *testing.T) {
	t.Parallel()
	var table access.Table
	if _, ok := table.Lookup("sw_anything"); ok || table.Len() != 0 {
		t.Error("an empty table let somebody in")
	}
}

func TestTable_ReplaceRefusesDoubles(t *testing.T) {
	t.Parallel()
	key, one := entry(t, "one")
	_, two := entry(t, "two")
	table, err := access.NewTable(one)
	if err != nil {
		t.Fatal(err)
	}
	sameID := two
	sameID.KeyID = "one"
	sameKey := one
	sameKey.KeyID = "other"
	noID := two
	noID.KeyID = ""
	for name, bad := range map[string][]access.Entry{
		"same id": {one, sameID}, "same key": {one, sameKey}, "no id": {noID},
	} {
		if err := table.Replace(bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, ok := table.Lookup(key); !ok || table.Len() != 1 {
		t.Error("a refused replacement changed the table")
	}
}

func TestTable_ReplaceWhileLookingUp(t *testing.T) {
	t.Parallel()
	keyA, a := entry(t, "a")
	_, b := entry(t, "b")
	table, err := access.NewTable(a)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if c, ok := table.Lookup(keyA); !ok || c.KeyID != "a" {
					t.Error("a key that is in both tables was not found")
					return
				}
			}
		})
	}
	for range 100 {
		for _, set := range [][]access.Entry{{a, b}, {a}} {
			if err := table.Replace(set); err != nil {
				t.Fatal(err)
			}
		}
	}
	wg.Wait()
}

func TestTable_LookupDoesNotAllocate(t *testing.T) {
	key, e := entry(t, "one")
	table, err := access.NewTable(e)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { table.Lookup(key) }); n != 0 {
		t.Errorf("a lookup allocates %v times; it runs for every request", n)
	}
}
