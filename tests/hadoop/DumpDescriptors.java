// Writes the message descriptors that are inside of Hadoop's jars as one FileDescriptorSet.
//
//   java -cp 'JARS/*' DumpDescriptors.java OUTPUT CLASS…
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.thirdparty.protobuf.DescriptorProtos.FileDescriptorProto;
import org.apache.hadoop.thirdparty.protobuf.DescriptorProtos.FileDescriptorSet;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.FileDescriptor;

public final class DumpDescriptors {
  private static void collect(FileDescriptor file, Map<String, FileDescriptorProto> files) {
    if (files.containsKey(file.getName())) {
      return;
    }
    for (FileDescriptor imported : file.getDependencies()) {
      collect(imported, files);
    }
    files.put(file.getName(), file.toProto());
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, FileDescriptorProto> files = new LinkedHashMap<>();
    for (int i = 1; i < arguments.length; ++i) {
      Class<?> outer = Class.forName(arguments[i]);
      collect((FileDescriptor) outer.getMethod("getDescriptor").invoke(null), files);
    }
    FileDescriptorSet set = FileDescriptorSet.newBuilder().addAllFile(files.values()).build();
    try (OutputStream output = new FileOutputStream(arguments[0])) {
      set.writeTo(output);
    }
  }
}
