package checkpoint

import (
	"bytes"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const smallConfig = `{"stream":"matrix","layers":1,"note":"a <b> & \"c\""}`

func smallModel() []Tensor {
	return []Tensor{
		{"blocks.0.attention.read", []int{3, 1, 2}, []float32{1, -2, 3.5, 0, float32(math.Inf(1)), math.Float32frombits(0x7fc00001)}},
		{"embedding", []int{2, 2}, []float32{0.1, 0.2, 0.3, 0.4}},
	}
}

func modelBytes(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, encodeModel(&out, smallModel(), map[string]string{MetadataConfig: smallConfig, "note": "é\n"}))
	return out.Bytes()
}

// checkModelBytes does what ReadModel does, on bytes.
func checkModelBytes(data []byte) error {
	f, err := decodeBytes(data)
	if err != nil {
		return err
	}
	return checkMarked(f, kindModel)
}

func TestModelRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	given := map[string]string{MetadataConfig: smallConfig, metadataDigest: "stale", "note": "kept"}
	require.NoError(t, WriteModel(path, smallModel(), given))
	assert.Equal(t, "stale", given[metadataDigest], "the caller's map was changed")
	f, err := ReadModel(path)
	require.NoError(t, err)
	assert.Equal(t, smallConfig, f.Metadata[MetadataConfig])
	assert.Equal(t, "2", f.Metadata[MetadataVersion])
	assert.Equal(t, "kept", f.Metadata["note"])
	assert.Len(t, f.Metadata[metadataDigest], 64)
	for _, want := range smallModel() {
		got, err := f.Tensor(want.Name)
		require.NoError(t, err)
		sameBits(t, want, got)
	}
	// What was read can be written again, to the same bytes.
	again := filepath.Join(t.TempDir(), "again.safetensors")
	require.NoError(t, WriteModel(again, f.Tensors, f.Metadata))
	a, err := os.ReadFile(path)
	require.NoError(t, err)
	b, err := os.ReadFile(again)
	require.NoError(t, err)
	assert.Equal(t, a, b)
}

func TestEveryFlippedBitOfAModelIsNoticed(t *testing.T) {
	data := modelBytes(t)
	require.NoError(t, checkModelBytes(data))
	for bit := range 8 * len(data) {
		data[bit/8] ^= 1 << (bit % 8)
		require.Error(t, checkModelBytes(data), "bit %d of byte %d (%q)", bit%8, bit/8, data[bit/8])
		data[bit/8] ^= 1 << (bit % 8)
	}
}

func TestEveryTruncatedOrExtendedModelIsRefused(t *testing.T) {
	data := modelBytes(t)
	for n := range data {
		require.Error(t, checkModelBytes(data[:n]), "first %d of %d bytes", n, len(data))
	}
	for _, tail := range []string{"\x00", "\n", "{}", string(data)} {
		require.Error(t, checkModelBytes(append(bytes.Clone(data), tail...)), "with %d more bytes", len(tail))
	}
}

// Random damage of several bytes: never a panic, never accepted.
func TestDamagedModelsAreRefused(t *testing.T) {
	data := modelBytes(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		damaged := bytes.Clone(data)
		for range 1 + random.IntN(8) {
			damaged[random.IntN(len(damaged))] = byte(random.Uint32())
		}
		if !bytes.Equal(damaged, data) {
			require.Error(t, checkModelBytes(damaged))
		}
	}
}

// The digest covers content, not layout: a tool that orders tensors in its own way keeps it valid.
func TestDigestCoversContentOnly(t *testing.T) {
	metadata := map[string]string{"a": "b", "c": "d"}
	want := digestOf(smallModel(), metadata)
	reversed := smallModel()
	slices.Reverse(reversed)
	withOwn := maps.Clone(metadata)
	withOwn[metadataDigest] = want
	assert.Equal(t, want, digestOf(reversed, withOwn))

	changed := map[string]func(tensors []Tensor, metadata map[string]string){
		"name":        func(x []Tensor, _ map[string]string) { x[1].Name = "embeddinh" },
		"shape":       func(x []Tensor, _ map[string]string) { x[1].Shape = []int{4} },
		"shape order": func(x []Tensor, _ map[string]string) { x[0].Shape = []int{1, 3, 2} },
		"type": func(x []Tensor, _ map[string]string) {
			x[1].Data = []int32{1036831949, 1045220557, 1050253722, 1053609165}
		},
		"sign of zero":    func(x []Tensor, _ map[string]string) { x[0].Data.([]float32)[3] = float32(math.Copysign(0, -1)) },
		"NaN payload":     func(x []Tensor, _ map[string]string) { x[0].Data.([]float32)[5] = math.Float32frombits(0x7fc00002) },
		"metadata value":  func(_ []Tensor, m map[string]string) { m["a"] = "B" },
		"metadata key":    func(_ []Tensor, m map[string]string) { delete(m, "a"); m["A"] = "b" },
		"metadata more":   func(_ []Tensor, m map[string]string) { m[""] = "" },
		"metadata border": func(_ []Tensor, m map[string]string) { delete(m, "a"); m["ab"] = "" },
	}
	for name, change := range changed {
		tensors, m := smallModel(), maps.Clone(metadata)
		change(tensors, m)
		assert.NotEqual(t, want, digestOf(tensors, m), name)
	}
}

func TestReadModelRefuses(t *testing.T) {
	digested := func(kind, version, config string) map[string]string {
		m := map[string]string{metadataKind: kind, MetadataVersion: version, MetadataConfig: config}
		m[metadataDigest] = digestOf(smallModel(), m)
		return m
	}
	edited := digested("model", "1", smallConfig)
	edited[MetadataConfig] = strings.Replace(smallConfig, "1", "2", 1)
	undigested := digested("model", "1", smallConfig)
	delete(undigested, metadataDigest)
	path := filepath.Join(t.TempDir(), "m.safetensors")
	read := func(metadata map[string]string) error {
		require.NoError(t, WriteTensors(path, smallModel(), metadata))
		f, err := ReadModel(path)
		assert.Nil(t, f)
		return err
	}
	for _, metadata := range []map[string]string{
		nil,
		{"format": "pt"},
		digested("model", "0", smallConfig),
		digested("model", "one", smallConfig),
		edited,
		undigested,
	} {
		requireDamaged(t, read(metadata), path)
	}
	assert.ErrorIs(t, read(digested("model", "3", smallConfig)), ErrNewer)
	assert.ErrorContains(t, read(digested("optimizer", "1", smallConfig)), "name the model.safetensors file")
	assert.ErrorContains(t, read(digested("model", "1", "{")), path+": metadata "+MetadataConfig)
	_, err := ReadModel("../testdata/reference/gpt2-hf/model.safetensors")
	requireDamaged(t, err, "gpt2-hf")
}

func TestWriteModelWantsAConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	assert.ErrorContains(t, WriteModel(path, smallModel(), nil), `residua.config: want the model's configuration as JSON, got ""`)
	assert.NoFileExists(t, path)
}
