// SPDX-License-Identifier: BSL-1.0
//
// The HTTP service with Go's net/http, on one processor: the harness pins it, and Go then uses one.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
)

func main() {
	bytes := flag.Int("body", 1024, "bytes of the body")
	file := flag.String("file", "", "the body is this file")
	closing := flag.Bool("close", false, "a connection for each request")
	flag.Parse()

	body := make([]byte, *bytes)
	for i := range body {
		body[i] = byte('a' + i%26)
	}
	length := strconv.Itoa(len(body))
	serve := func(w http.ResponseWriter, r *http.Request) {
		fields := w.Header()
		fields["Server"] = []string{"bench"}
		fields["Content-Type"] = []string{"text/plain"}
		if *closing {
			fields["Connection"] = []string{"close"}
		} else {
			fields["Cache-Control"] = []string{"private"}
		}
		if *file != "" {
			http.ServeFile(w, r, *file)
			return
		}
		fields["Content-Length"] = []string{length}
		w.Write(body)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("listening on port", listener.Addr().(*net.TCPAddr).Port)
	fmt.Fprintln(os.Stderr, http.Serve(listener, http.HandlerFunc(serve)))
	os.Exit(1)
}
