module github.com/spillway-llm/spillway/examples/embed

go 1.26.0

require github.com/spillway-llm/spillway v0.0.0

replace github.com/spillway-llm/spillway => ../..
