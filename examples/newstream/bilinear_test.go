package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/models/modeltest"
)

// TestBilinear: the feed-forward passes the conformance suite, alone and on our stream, and a
// config can choose it.
func TestBilinear(t *testing.T) {
	c := tiny(0)
	c.FeedForward = Bilinear{Hidden: 14}
	modeltest.Run(t, "bilinear", c)
	assert.Contains(t, call(t, "train", "-keys"), "bilinear-example")
}
