"""A client of a job's page and its API, as a browser would be: one cookie, one origin."""

import contextlib
import http.client
import json
import urllib.parse

import tony_cli


class Page:
    """A browser with one cookie at most, for the page of one job."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.host = parts.netloc
        self.base = parts.path
        self.code = f"{parts.path}?{parts.query}"
        self.cookie = None

    def connect(self):
        """A connection that takes several requests."""
        return http.client.HTTPConnection(self.host, timeout=tony_cli.DEADLINE_SECONDS)

    def get(self, path, method="GET", body=None, **headers):
        """Returns status, headers and text of what is at `path`."""
        connection = self.connect()
        if self.cookie:
            headers["Cookie"] = self.cookie
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, response.headers, text

    def enter(self):
        """Visits the address with the code, and keeps the cookie."""
        status, headers, text = self.get(self.code)
        if status == 303:
            self.cookie = headers["Set-Cookie"].split(";")[0]
        return status, headers, text

    def lead(self):
        """A visitor whom the page has led to the job's program, with a code."""
        status, headers, text = self.get(f"{self.base}visualization")
        if status != 303:
            raise AssertionError(f"{status} {text}")
        return Visitor(headers["Location"])

    def api(self, place, **parameters):
        """The JSON of a resource of the API, which has to be there."""
        status, text = self.ask(place, **parameters)
        if status != 200:
            raise AssertionError(f"{place}: {status} {text}")
        return json.loads(text)

    def ask(self, place, **parameters):
        """Status and text of a resource of the API."""
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        status, _, text = self.get(f"{self.base}api/v1/{place}{query}")
        return status, text

    def post(self, place, body, **headers):
        """Status and JSON of a POST as the page's script would send it; `headers` replace its."""
        sent = {"Content-Type": "application/json", "Origin": f"http://{self.host}",
                "Sec-Fetch-Site": "same-origin"}
        for name, value in headers.items():
            name = name.replace("_", "-")
            if value is None:
                sent.pop(name)
            else:
                sent[name] = value
        status, _, text = self.get(f"{self.base}api/v1/{place}", "POST", body, **sent)
        return status, json.loads(text)

    def stream(self, place):
        """The events of a stream, as dicts with id, event and data; ends with the stream."""
        connection = self.connect()
        connection.request("GET", f"{self.base}api/v1/{place}",
                           headers={"Cookie": self.cookie, "Accept": "text/event-stream"})
        response = connection.getresponse()
        if response.status != 200:
            raise AssertionError(f"{place}: {response.status} {response.read()}")
        event = {}
        for line in response:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name and value:
                event[name] = value
            elif event:
                event["data"] = json.loads(event["data"])
                yield event
                event = {}
        connection.close()


class Visitor:
    """A browser behind the page's link: the address that the page gave, and one cookie."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.host = parts.netloc
        self.login = f"{parts.path}?{parts.query}"
        self.cookie = None

    def ask(self, path="/", method="GET", body=None, **headers):
        """Returns status, headers and text of one request."""
        with contextlib.closing(self.connect()) as connection:
            if self.cookie:
                headers.setdefault("Cookie", self.cookie)
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()

    def connect(self):
        """A connection to the gate."""
        return http.client.HTTPConnection(self.host, timeout=tony_cli.DEADLINE_SECONDS)

    def enter(self):
        """Exchanges the code for the cookie."""
        status, headers, text = self.ask(self.login)
        if status == 303:
            self.cookie = headers["Set-Cookie"].split(";")[0]
        return status, headers, text

    def get(self, path):
        """What the program says, as JSON."""
        status, _, text = self.ask(path)
        if status != 200:
            raise AssertionError(f"{path}: {status} {text}")
        return json.loads(text)


def rows(answer):
    """The rows of an answer with columns, as dicts."""
    return [dict(zip(answer["columns"], row)) for row in answer["rows"]]
