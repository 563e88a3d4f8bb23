package policy_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/spillway-llm/spillway/core/policy"
)

// workerArgument makes the test binary a policy worker.
const workerArgument = "policy-worker"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerArgument {
		if err := policy.ServeWorker(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
