// Package tfevents writes event files, which TensorBoard reads: scalars and texts by step.
//
// A file is a sequence of records, each with CRC-32C checksums (TensorFlow,
// tsl/lib/io/record_writer.h), whose content is a message Event of protocol buffers
// (tensorflow/core/util/event.proto).
package tfevents

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"time"

	"github.com/pkg/errors"
	"google.golang.org/protobuf/encoding/protowire"
)

// Writer writes an event file.
type Writer struct{ w io.Writer }

// New begins an event file on w at a time. Go on with an existing file by Append.
func New(w io.Writer, at time.Time) (*Writer, error) {
	const fileVersion = 3
	out := Append(w)
	return out, out.record(text(event(at, 0), fileVersion, "brain.Event:2"))
}

// Append returns a Writer for a file that New has begun.
func Append(w io.Writer) *Writer { return &Writer{w} }

// Scalar is a value with its tag, such as train/loss.
type Scalar struct {
	Tag   string
	Value float64
}

// Scalars writes values of a step.
func (w *Writer) Scalars(at time.Time, step int, values ...Scalar) error {
	const value, tag, simpleValue = 1, 1, 2
	var summary []byte
	for _, v := range values {
		one := text(nil, tag, v.Tag)
		one = protowire.AppendTag(one, simpleValue, protowire.Fixed32Type)
		one = protowire.AppendFixed32(one, math.Float32bits(float32(v.Value)))
		summary = message(summary, value, one)
	}
	return w.summary(at, step, summary)
}

// Text writes a text of a step, which TensorBoard shows as Markdown.
func (w *Writer) Text(at time.Time, step int, name, content string) error {
	const (
		value, tag, tensor, metadata = 1, 1, 8, 9
		dtype, stringDType           = 1, 7
		shape, dim, size, stringVal  = 2, 2, 1, 8
		plugin, pluginName           = 1, 1
		dataClass, tensorClass       = 4, 2
	)
	made := number(nil, dtype, stringDType)
	made = message(made, shape, message(nil, dim, number(nil, size, 1)))
	made = text(made, stringVal, content)
	about := number(message(nil, plugin, text(nil, pluginName, "text")), dataClass, tensorClass)
	one := message(message(text(nil, tag, name), tensor, made), metadata, about)
	return w.summary(at, step, message(nil, value, one))
}

// summary writes an event with a message Summary.
func (w *Writer) summary(at time.Time, step int, summary []byte) error {
	const field = 5
	return w.record(message(event(at, step), field, summary))
}

// event begins a message Event.
func event(at time.Time, step int) []byte {
	const wallTime, stepField = 1, 2
	m := protowire.AppendTag(nil, wallTime, protowire.Fixed64Type)
	m = protowire.AppendFixed64(m, math.Float64bits(float64(at.UnixMicro())/1e6))
	return number(m, stepField, uint64(step))
}

func text(to []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), s)
}

func message(to []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), m)
}

func number(to []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), v)
}

// castagnoli is the polynomial of CRC-32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record writes a record in one call: length, its checksum, content, its checksum.
func (w *Writer) record(content []byte) error {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(content)))
	r := binary.LittleEndian.AppendUint32(slices.Clone(length), masked(length))
	r = binary.LittleEndian.AppendUint32(append(r, content...), masked(content))
	_, err := w.w.Write(r)
	return errors.WithStack(err)
}

// masked returns a checksum rotated and shifted, as records have it.
func masked(content []byte) uint32 {
	sum := crc32.Checksum(content, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}
