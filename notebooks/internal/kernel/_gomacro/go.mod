module github.com/cosmos72/gomacro

go 1.26.0

require (
	github.com/mattn/go-runewidth v0.0.15
	github.com/peterh/liner v1.2.2
	golang.org/x/tools v0.38.0
)
