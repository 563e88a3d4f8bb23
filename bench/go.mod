module github.com/spillway-llm/spillway/bench

go 1.26.0
