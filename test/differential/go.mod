module github.com/spillway-llm/spillway/test/differential

go 1.26.0

require (
	github.com/aws/aws-sdk-go-v2 v1.48.0
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/sony/gobreaker/v2 v2.4.0
	github.com/spillway-llm/spillway v0.0.0
)

require (
	github.com/aws/smithy-go v1.28.9 // indirect
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
)

replace github.com/spillway-llm/spillway => ../..
