package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// A sealed file is a JSON object whose last member is the sha256 of all the text before that
// member:
//
//	{
//	  "version": 1,
//	  ...,
//	  "checksum": "9f86d0..."
//	}
//
// so that any flipped bit, truncation or edit is detected.
const (
	sealOpen       = ",\n  \"checksum\": \""
	sealClose      = "\"\n}\n"
	sealBytes      = len(sealOpen) + 2*sha256.Size + len(sealClose)
	maxSealedBytes = 64 << 20 // far more than any state; limits what a wrong file makes us read
)

// seal returns the sealed text of v, a struct with at least one member.
func seal(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return nil, errors.WithStack(err)
	}
	body := bytes.TrimSuffix(text.Bytes(), []byte("\n}\n"))
	sum := sha256.Sum256(body)
	sealed := append(bytes.Clone(body), sealOpen+hex.EncodeToString(sum[:])+sealClose...)
	if len(sealed) > maxSealedBytes {
		return nil, errors.Errorf("%d bytes of JSON: want at most %d", len(sealed), maxSealedBytes)
	}
	return sealed, nil
}

// unseal checks the seal of text and decodes it into v. It reports a newer version as such, even
// without a valid seal.
func unseal(text []byte, v any) error {
	var front struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &front); err != nil {
		return damagedf("not whole JSON (%v): damaged or truncated", err)
	}
	if err := checkVersion(front.Version); err != nil {
		return err
	}
	if front.Version < 1 {
		return damagedf("format version %d: want 1 to %d: damaged, or another program's file", front.Version, FormatVersion)
	}
	body := text[:max(0, len(text)-sealBytes)]
	sum := sha256.Sum256(body)
	if want := sealOpen + hex.EncodeToString(sum[:]) + sealClose; string(text[len(body):]) != want {
		return damagedf("the checksum in its last line does not fit its content: damaged or edited")
	}
	return errors.WithStack(json.Unmarshal(text, v))
}

func writeSealed(w io.Writer, v any) error {
	text, err := seal(v)
	if err == nil {
		_, err = w.Write(text)
	}
	return errors.WithStack(err)
}

func (d Disk) writeSealed(path string, v any) error {
	return d.WriteFileAtomic(path, func(w io.Writer) error { return writeSealed(w, v) })
}

func readSealed(path string, v any) error {
	text, err := regular.Read(path, maxSealedBytes)
	if errors.Is(err, regular.ErrTooLarge) {
		return damagedf("%v", err)
	}
	if err != nil {
		return err
	}
	return errors.Wrap(unseal(text, v), path)
}

// fileSum returns the sha256 of a file as lower-case hex.
func fileSum(path string) (string, error) {
	f, _, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", errors.Wrap(err, path)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// exists tells whether there is something at path; it returns false if that cannot be found out.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
