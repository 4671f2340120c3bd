// A server that appends what its clients send to a log, and its clients: four threads each.
import java.io.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;

class Log {
    static final int CLIENTS = 4, RECORDS = 150, BYTES = 8192;

    public static void main(String[] words) throws Exception {
        FileChannel log = FileChannel.open(Path.of(words[0]), StandardOpenOption.CREATE, StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING);
        ServerSocket server = new ServerSocket(0, CLIENTS, InetAddress.getLoopbackAddress());
        Thread[] threads = new Thread[2 * CLIENTS];
        for (int at = 0; at < CLIENTS; at++) {
            threads[at] = new Thread(() -> ask(server.getLocalPort()));
            threads[at].start();
            Socket client = server.accept();
            threads[CLIENTS + at] = new Thread(() -> answer(client, log));
            threads[CLIENTS + at].start();
        }
        for (Thread thread : threads)
            thread.join();
        System.out.println(log.size());
    }

    static void ask(int port) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            byte[] record = new byte[BYTES];
            for (int count = 0; count < RECORDS; count++) {
                socket.getOutputStream().write(record);
                socket.getInputStream().read();
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    static void answer(Socket client, FileChannel log) {
        try (client) {
            DataInputStream in = new DataInputStream(client.getInputStream());
            byte[] record = new byte[BYTES];
            for (int count = 0; count < RECORDS; count++) {
                in.readFully(record);
                synchronized (log) {
                    log.write(ByteBuffer.wrap(record), log.size());
                }
                log.force(false);
                client.getOutputStream().write(1);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
