"""An application with Authlib in Flask, which takes everything but its client from the discovery document."""

import os

from authlib.common.errors import AuthlibBaseError
from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, session

issuer = os.environ["LATCHKEY_SERVER"]
client_id, client_secret = os.environ["SERVICE_KEY"].split(":")
home = f"http://127.0.0.1:{os.environ['PORT']}"

app = Flask(__name__)
app.secret_key = os.urandom(32)
oauth = OAuth(app)
latchkey = oauth.register(
    "latchkey",
    server_metadata_url=f"{issuer}/.well-known/openid-configuration",
    client_id=client_id,
    client_secret=client_secret,
    client_kwargs={"scope": "openid email", "code_challenge_method": "S256"},
)


@app.get("/login")
def login():
    return latchkey.authorize_redirect(f"{home}/callback")


@app.errorhandler(AuthlibBaseError)
def refuse(error):
    return error.error, 403


@app.get("/callback")
def callback():
    token = latchkey.authorize_access_token()
    session["token"] = {name: token[name] for name in ("access_token", "token_type")}
    return redirect("/")


@app.get("/")
def person():
    if "token" not in session:
        return "nobody is signed in", 401
    endpoint = latchkey.load_server_metadata()["userinfo_endpoint"]
    answer = latchkey.get(endpoint, token=session["token"])
    return answer.json(), answer.status_code


app.run("127.0.0.1", int(os.environ["PORT"]))
