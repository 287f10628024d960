// SPDX-License-Identifier: BSL-1.0
//
// Go's mime/multipart for form_differential.py: reads and prints what form_peer.cpp does.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"strings"
)

func answer(line string) string {
	typeText, bodyText, _ := strings.Cut(line, " ")
	contentType, _ := hex.DecodeString(typeText)
	body, _ := hex.DecodeString(bodyText)
	kind, parameters, err := mime.ParseMediaType(string(contentType))
	if err != nil || kind != "multipart/form-data" || parameters["boundary"] == "" {
		return "refused"
	}
	reader := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	text := "form"
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			return text
		}
		if err != nil {
			return "refused"
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return "refused"
		}
		kind, names, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if err != nil || kind != "form-data" {
			return "refused"
		}
		name, has := names["name"]
		if !has {
			return "refused"
		}
		file, isFile := names["filename"]
		fileText := "-"
		if isFile {
			fileText = hex.EncodeToString([]byte(file))
		}
		text += " " + hex.EncodeToString([]byte(name)) + ":" + fileText + ":" + hex.EncodeToString(data)
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		fmt.Fprintln(out, answer(lines.Text()))
	}
}
