// SPDX-License-Identifier: BSL-1.0
//
// Go's net/http client with its default settings against beck's server: kept connections behind
// responses that came before the body was sent, Expect, uploads that are cut.
// usage: http_go URL
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

var base string

func call(client *http.Client, method, path string, body []byte, expect bool) (int, string, error) {
	request, err := http.NewRequest(method, base+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if expect {
		request.Header.Set("Expect", "100-continue")
	}
	// A request that cannot be sent again: no retry hides a lost one.
	request.GetBody = nil
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func check(name string, run func() error) {
	if err := run(); err != nil {
		fmt.Printf("FAILED: %s: %v\n", name, err)
		os.Exit(1)
	}
	fmt.Printf("ok: %s\n", name)
}

// behindRefusals posts a body that is refused, then a small one that must arrive, 100 times.
func behindRefusals(size int, expect bool) func() error {
	return func() error {
		client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
		for round := 0; round < 100; round++ {
			status, _, err := call(client, "POST", "/refuse", make([]byte, size), expect)
			if err != nil || status != 401 {
				return fmt.Errorf("round %d: the refusal: %d, %v", round, status, err)
			}
			status, text, err := call(client, "POST", "/after", []byte("hello"), false)
			if err != nil || status != 200 || !strings.HasPrefix(text, "POST /after 5 ") {
				return fmt.Errorf("round %d: the request behind it: %d, %q, %v", round, status, text, err)
			}
		}
		return nil
	}
}

// cutUpload stops in the middle of an upload; other requests go on.
func cutUpload() error {
	for round := 0; round < 20; round++ {
		ctx, cancel := context.WithCancel(context.Background())
		reader, writer := io.Pipe()
		go func() {
			_, _ = writer.Write(make([]byte, 50_000))
			cancel()
			_ = writer.CloseWithError(context.Canceled) // the transport waits for the end of the body
		}()
		request, _ := http.NewRequestWithContext(ctx, "POST", base+"/cut", reader)
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			return fmt.Errorf("a cut upload has a response")
		}
		if status, _, err := call(http.DefaultClient, "GET", "/bytes/100", nil, false); err != nil || status != 200 {
			return fmt.Errorf("after it: %d, %v", status, err)
		}
	}
	return nil
}

// manyAtOnce uses 50 goroutines with one pool.
func manyAtOnce() error {
	var all sync.WaitGroup
	failures := make(chan error, 50)
	for worker := 0; worker < 50; worker++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < 40; i++ {
				status, text, err := call(http.DefaultClient, "PUT", "/x", make([]byte, 2000), false)
				if err != nil || status != 200 || !strings.HasPrefix(text, "PUT /x 2000 ") {
					failures <- fmt.Errorf("%d, %q, %v", status, text, err)
					return
				}
			}
		}()
	}
	all.Wait()
	close(failures)
	return <-failures
}

// idleEdge sends requests around the moment at which the server ends an idle connection (after a second).
func idleEdge() error {
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	for round := 0; round < 16; round++ {
		if status, _, err := call(client, "GET", "/bytes/1", nil, false); err != nil || status != 200 {
			return fmt.Errorf("round %d: %d, %v", round, status, err)
		}
		time.Sleep(time.Duration(990+round*2) * time.Millisecond)
	}
	return nil
}

func main() {
	base = os.Args[1]
	check("a small body is refused", behindRefusals(5, false))
	check("a body of 70,000 bytes is refused", behindRefusals(70_000, false))
	check("a body of 2 MB is refused", behindRefusals(2_000_000, false))
	check("Expect: 100-continue is refused", behindRefusals(70_000, true))
	check("uploads that are cut", cutUpload)
	check("50 at once", manyAtOnce)
	check("the edge of the idle time", idleEdge)
}
