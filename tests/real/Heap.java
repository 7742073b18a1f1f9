// SPDX-License-Identifier: Apache-2.0
// Garbage, a big array, a direct buffer, threads.
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.LongStream;

public class Heap {
	public static void main(String[] args) throws Exception {
		long[] big = new long[8 << 20];
		for (int round = 0; round < 3; round++)
			for (int i = 0; i < big.length; i++)
				big[i] = big[i] * 31 + i + round;
		System.out.println(Arrays.hashCode(big));

		Map<String, Integer> seen = new HashMap<>();
		for (int i = 0; i < 300000; i++)
			seen.merge("key" + i % 50000, i, Integer::sum);
		System.out.println(seen.size() + " " + seen.get("key777"));

		ByteBuffer direct = ByteBuffer.allocateDirect(96 << 20);
		for (int i = 0; i < direct.capacity(); i += 8)
			direct.putLong(i, i * 2862933555777941757L);
		long sum = 0;
		for (int i = 0; i < direct.capacity(); i += 8)
			sum = sum * 33 + direct.getLong(i);
		System.out.println(sum);
		System.out.println(LongStream.range(0, 3000000).parallel()
			.map(i -> i * i % 1009).sum());
	}
}
