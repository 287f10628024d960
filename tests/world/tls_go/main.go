// SPDX-License-Identifier: BSL-1.0
//
// Go's net/http client over TLS against beck-serve.
// usage: tls_go URL ROOT_FILE
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	pem, err := os.ReadFile(os.Args[2])
	if err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		sessions := tls.NewLRUClientSessionCache(8)
		resumed := 0
		for connection := 0; connection < 5; connection++ {
			transport := &http.Transport{TLSClientConfig: &tls.Config{
				RootCAs: roots, MinVersion: version, MaxVersion: version, ClientSessionCache: sessions}}
			client := &http.Client{Transport: transport}
			for i := 0; i < 20; i++ {
				response, err := client.Get(os.Args[1])
				if err != nil || response.StatusCode != 200 || response.TLS.Version != version {
					fmt.Println("FAILED:", response, err)
					os.Exit(1)
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if i == 0 && response.TLS.DidResume {
					resumed++
				}
			}
			transport.CloseIdleConnections()
		}
		if resumed < 4 {
			fmt.Printf("FAILED: %d of 4 sessions are resumed with %x\n", resumed, version)
			os.Exit(1)
		}
		fmt.Printf("ok: TLS %x: kept connections, resumed sessions\n", version)
	}
}
