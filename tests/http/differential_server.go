// SPDX-License-Identifier: BSL-1.0
//
// Go's net/http for differential.py: replies as peer_server.cpp does, with "METHOD TARGET BYTES CHECKSUM" of the body.
package main

import (
	"fmt"
	"hash/adler32"
	"io"
	"net"
	"net/http"
	"os"
)

func describe(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(400)
		return
	}
	fmt.Fprintf(w, "%s %s %d %d\n", r.Method, r.RequestURI, len(body), adler32.Checksum(body))
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("listening on port", listener.Addr().(*net.TCPAddr).Port)
	fmt.Fprintln(os.Stderr, http.Serve(listener, http.HandlerFunc(describe)))
	os.Exit(1)
}
