package ipynb

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"strings"
)

// mimePNG is the MIME type of pictures that are checked.
const mimePNG = "image/png"

// checkPicture says why a PNG picture, in base64, shows nothing, "" if it shows something.
func checkPicture(text string) string {
	raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(strings.TrimSpace(text), "\n", ""))
	if err != nil {
		return "is not base64"
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return "is not a PNG: " + err.Error()
	}
	if blank(picture) {
		return "is blank"
	}
	return ""
}

// blank tells whether a picture has only one colour.
func blank(picture image.Image) bool {
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if picture.At(x, y) != picture.At(b.Min.X, b.Min.Y) {
				return false
			}
		}
	}
	return true
}
