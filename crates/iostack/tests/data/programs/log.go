// A server that appends what its clients send to a log, and its clients: goroutines.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

const clients, records, bytes = 8, 200, 8192

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func ask(address string) {
	server, err := net.Dial("tcp", address)
	must(err)
	record, answer := make([]byte, bytes), make([]byte, 1)
	for count := 0; count < records; count++ {
		_, err = server.Write(record)
		must(err)
		_, err = io.ReadFull(server, answer)
		must(err)
	}
	must(server.Close())
}

func answer(client net.Conn, log *os.File) {
	record := make([]byte, bytes)
	for count := 0; count < records; count++ {
		_, err := io.ReadFull(client, record)
		must(err)
		_, err = log.Write(record)
		must(err)
		must(log.Sync())
		_, err = client.Write(record[:1])
		must(err)
	}
}

func main() {
	log, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o644)
	must(err)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	var all sync.WaitGroup
	for count := 0; count < clients; count++ {
		all.Add(2)
		go func() { ask(server.Addr().String()); all.Done() }()
		client, err := server.Accept()
		must(err)
		go func() { answer(client, log); all.Done() }()
	}
	all.Wait()
	size, err := log.Seek(0, io.SeekEnd)
	must(err)
	fmt.Println(size)
}
