// The one class that Azkaban's published jars refer to and do not have.
package azkaban.spi;

public class AzkabanException extends RuntimeException {
  public AzkabanException(final String message) {
    super(message);
  }

  public AzkabanException(final Throwable cause) {
    super(cause);
  }

  public AzkabanException(final String message, final Throwable cause) {
    super(message, cause);
  }
}
